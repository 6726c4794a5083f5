"""The transaction: proof, write-ahead ledger, apply, roll back, recover."""
