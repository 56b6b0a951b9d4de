"""What REST says about itself, a module for each resource: examples, and schemas that FastAPI can't tell.

`placet.messages.examples` has what travels; here it is put into bodies and pages. A test holds each
against the schema that the OpenAPI document gives it.
"""
