"""The front end for functions: `@task` and `@entrypoint` turn them into programs and calls of them."""
