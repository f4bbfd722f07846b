# To make, read and delete tokens; to set up auth methods, their binding rules, policies and roles.
acl = "write"

# To force-leave client agents that stopped with their tasks; optional without client agents.
operator = "write"

# To learn whether this is the primary datacenter.
agent_prefix "" {
  policy = "read"
}

# To see the services of nodes, and the status of agents.
node_prefix "" {
  policy = "read"
}

# To register the clusters' synthetic nodes, whose names are the clusters' ARNs.
node_prefix "arn:" {
  policy = "write"
}

# To remove the services of stopped tasks, and to keep their checks.
service_prefix "" {
  policy = "write"
}
