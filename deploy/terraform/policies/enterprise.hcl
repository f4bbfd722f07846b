# To force-leave client agents that stopped with their tasks; to list partitions, and to create those of the clusters.
operator = "write"

# To learn whether this is the primary datacenter.
agent_prefix "" {
  policy = "read"
}

# In every partition, including the default one.
partition_prefix "" {
  # To see the nodes, and the status of agents.
  node_prefix "" {
    policy = "read"
  }

  # To register the clusters' synthetic nodes, whose names are the clusters' ARNs.
  node_prefix "arn:" {
    policy = "write"
  }

  # In every namespace, including the default one.
  namespace_prefix "" {
    # To create the namespaces of tasks.
    policy = "write"

    # To make, read and delete tokens; to set up auth methods, their binding rules, policies and roles.
    acl = "write"

    # To see on which nodes the services of a namespace are.
    node_prefix "" {
      policy = "read"
    }

    # To remove the services of stopped tasks, and to keep their checks.
    service_prefix "" {
      policy = "write"
    }
  }
}
