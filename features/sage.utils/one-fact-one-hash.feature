Feature: One fact, one hash
  Agents that never met must reach the same hash for the same fact. So a value has one canonical
  form, whoever writes it and in whatever order, and the hash is taken over that form.

  @id:story/two-writers-one-form @shows:UTILS-006
  Scenario: Two agents write down the same fact in different orders
    When "utils.canonicalJSONStringify" is called with:
      """
      { "value": { "file": "src/Foo.ts", "change": { "kind": "added", "name": "greet" } } }
      """
    And its answer is remembered as "form"
    When "utils.canonicalJSONStringify" is called with:
      """
      { "value": { "change": { "name": "greet", "kind": "added" }, "file": "src/Foo.ts" } }
      """
    Then it returns:
      """
      { "$ref": "form" }
      """

  @id:story/form-and-hash-of-the-example @shows:UTILS-001
  Scenario: The text's example has the form that the text gives
    When "utils.canonicalJSONStringify" is called with:
      """
      { "value": { "c": 3, "a": 1, "b": [{ "y": 2, "x": 1 }] } }
      """
    Then it returns:
      """
      "{\"a\":1,\"b\":[{\"x\":1,\"y\":2}],\"c\":3}"
      """

  @id:story/hash-of-the-example @shows:UTILS-019
  Scenario: The form of the text's example has one hash
    When "utils.sha256" is called with:
      """
      { "text": "{\"a\":1,\"b\":[{\"x\":1,\"y\":2}],\"c\":3}" }
      """
    Then it returns:
      """
      { "$matches": "(?i)^c5bc847d25fa60094e19f50487a8d1f78636e068789dade34e92ea1c82601078$" }
      """

  @id:story/order-within-a-list-is-meaning @shows:UTILS-004
  Scenario: The order of a list is part of the fact
    When "utils.canonicalJSONStringify" is called with:
      """
      { "value": ["build", "test", "ship"] }
      """
    Then it returns:
      """
      { "$matches": "^\\[\\s*\"build\"\\s*,\\s*\"test\"\\s*,\\s*\"ship\"\\s*\\]$" }
      """
    When "utils.canonicalJSONStringify" is called with:
      """
      { "value": ["ship", "test", "build"] }
      """
    Then it returns:
      """
      { "$matches": "^\\[\\s*\"ship\"\\s*,\\s*\"test\"\\s*,\\s*\"build\"\\s*\\]$" }
      """

  @id:story/line-numbers-as-keys @shows:UTILS-003
  Scenario: Line numbers as keys are sorted as text
    When "utils.canonicalJSONStringify" is called with:
      """
      { "value": { "9": "let a;", "10": "let b;", "100": "let c;" } }
      """
    Then it returns:
      """
      { "$matches": "^\\{\\s*\"10\".*\"100\".*\"9\"" }
      """
