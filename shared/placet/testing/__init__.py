"""Fakes as a product: conformance cases for every port, and a handler that approves by itself."""
