"""What a rigid body may be."""
