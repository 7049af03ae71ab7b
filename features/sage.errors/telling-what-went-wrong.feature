Feature: Telling what went wrong
  A program decides by an error's code; a person reads its message and its properties. Neither may
  get lost on the way from where the error was made to where it is handled.

  @id:story/a-name-that-was-refused @shows:ERRORS-011
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
            "$open": {
              "field": "functionName",
              "reason": "Must contain only alphanumeric characters",
              "received": "my-function-name",
              "expected": "myFunctionName"
            }
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

  @id:story/a-contradiction-stops-the-agent @shows:ERRORS-026
  Scenario: A contradiction stops the agent, and the error tells where to look
    When "errors.raise" is called with:
      """
      {
        "code": "EHALT",
        "message": "The graph and the file disagree",
        "properties": {
          "invariant": "Function A exists in src/A.ts",
          "expected": { "functions": ["A"] },
          "actual": { "functions": ["B"] },
          "context": { "graphCommit": "commit-789", "chroniclePath": "src/A.ts.sage", "plan": "PLAN-001" }
        }
      }
      """
    Then it fails with EHALT and:
      """
      {
        "context": { "$open": { "graphCommit": "commit-789", "chroniclePath": "src/A.ts.sage", "plan": "PLAN-001" } }
      }
      """

  @id:story/what-should-have-been-there @shows:ERRORS-025
  Scenario: A function is gone, and the error tells what should have been there
    When "errors.raise" is called with:
      """
      {
        "code": "EHALT",
        "message": "The graph and the file disagree",
        "properties": {
          "invariant": "Function A exists in src/A.ts",
          "expected": { "functions": ["A"] },
          "actual": null
        }
      }
      """
    Then it fails with EHALT and:
      """
      { "expected": { "functions": ["A"] }, "actual": null }
      """

  @id:story/what-lay-beneath @shows:ERRORS-004
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
      { "cause": { "code": "ENOSPC", "message": "no space left on device" } }
      """

  @id:story/which-file-it-was @shows:ERRORS-017
  Scenario: A write fails, and the error tells which file it was
    When "errors.raise" is called with:
      """
      {
        "code": "EIO",
        "message": "Could not write the chronicle",
        "properties": { "operation": "write", "path": "src/A.ts.sage" }
      }
      """
    Then it fails with EIO and:
      """
      { "path": "src/A.ts.sage" }
      """
