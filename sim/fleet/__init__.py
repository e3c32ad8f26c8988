"""What stands around the engines: several replicas, routing, faults, scaling, admission and clients."""
