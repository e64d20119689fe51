"""Training drafts for a target of one's own, from text that the target itself wrote (`specscope train`)."""
