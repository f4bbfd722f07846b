has_old_call = true
mode         = null
