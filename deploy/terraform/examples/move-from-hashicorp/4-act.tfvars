has_old_call = false
mode         = "act"
