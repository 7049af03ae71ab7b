Feature: Telling what went wrong
  A program decides by an error's code; a person reads its message and its properties. Neither may
  get lost on the way from where the error was made to where it is handled.

  @id:story/a-name-that-was-refused @shows:ERRORS-011 @shows:ERRORS-002
  Scenario: A function name is refused, and the author sees which and why
    When "errors.raise" is called with:
      """
      {
        "code": "EVALIDATION",
        "message": "Invalid function name format",
        "properties": {
          "details": [
            {
              "field": "functionName",
              "reason": "Must contain only alphanumeric characters",
              "received": "my-function-name",
              "expected": "myFunctionName"
            }
          ]
        }
      }
      """
    Then it fails with EVALIDATION and:
      """
      {
        "message": "Invalid function name format",
        "details": [
          {
            "field": "functionName",
            "reason": "Must contain only alphanumeric characters",
            "received": "my-function-name",
            "expected": "myFunctionName"
          }
        ]
      }
      """

  @id:story/a-lock-that-somebody-holds @shows:ERRORS-023
  Scenario: A chronicle is locked, and the error tells by whom
    When "errors.raise" is called with:
      """
      {
        "code": "ELOCK_TIMEOUT",
        "message": "Could not acquire chronicle file lock",
        "properties": { "path": "src/utils/math.ts.sage", "timeoutMs": 2000, "holder": "daemon-watcher-123" }
      }
      """
    Then it fails with ELOCK_TIMEOUT and:
      """
      { "path": "src/utils/math.ts.sage", "timeoutMs": 2000, "holder": "daemon-watcher-123" }
      """

  @id:story/a-contradiction-stops-the-agent @shows:ERRORS-024 @shows:ERRORS-025 @shows:ERRORS-026
  Scenario: A contradiction stops the agent, with all that is needed to look into it
    When "errors.raise" is called with:
      """
      {
        "code": "EHALT",
        "message": "The graph and the file disagree",
        "properties": {
          "invariant": "Function A exists in src/A.ts",
          "expected": { "functions": ["A"] },
          "actual": null,
          "context": { "graphCommit": "commit-789", "chroniclePath": "src/A.ts.sage", "plan": "PLAN-001" }
        }
      }
      """
    Then it fails with EHALT and:
      """
      {
        "invariant": "Function A exists in src/A.ts",
        "expected": { "functions": ["A"] },
        "actual": null,
        "context": { "graphCommit": "commit-789", "chroniclePath": "src/A.ts.sage", "plan": "PLAN-001" }
      }
      """

  @id:story/what-lay-beneath @shows:ERRORS-004 @shows:ERRORS-016 @shows:ERRORS-017
  Scenario: A write fails, and what lay beneath is not hidden
    When "errors.raise" is called with:
      """
      {
        "code": "EIO",
        "message": "Could not write the chronicle",
        "properties": { "operation": "write", "path": "src/A.ts.sage" },
        "cause": { "code": "ENOSPC", "message": "no space left on device" }
      }
      """
    Then it fails with EIO and:
      """
      {
        "operation": "write",
        "path": "src/A.ts.sage",
        "cause": { "code": "ENOSPC", "message": "no space left on device" }
      }
      """
