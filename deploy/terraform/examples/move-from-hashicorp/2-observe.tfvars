has_old_call = true
mode         = "observe"
