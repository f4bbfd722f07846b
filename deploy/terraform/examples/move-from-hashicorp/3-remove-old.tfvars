has_old_call = false
mode         = "observe"
