# To list tokens, and to read the tokens of services, without their secret IDs; to compare auth methods, policies and roles.
acl = "read"

# To learn whether this is the primary datacenter.
agent_prefix "" {
  policy = "read"
}

# To see the nodes and their checks, and the status of agents.
node_prefix "" {
  policy = "read"
}

# To see the services of nodes.
service_prefix "" {
  policy = "read"
}
