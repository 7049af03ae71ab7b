Feature: Mending a file
  An agent looks at a file, writes a patch for it, and has it applied. What does not
  fit is not forced, and nothing happens that nobody allowed.

  Background:
    Given the file "src/greet.ts" holds:
      """
      export function greet(name: string) {
        return "Helo, " + name;
      }
      """

  @id:story/read-check-apply @shows:TOOLS-051
  Scenario: A typing error is found and mended
    Given the permission "Edit"
    When the tool "Read" is run with:
      """
      { "file": "src/greet.ts" }
      """
    When the tool "Edit" is run with:
      """
      {
        "file": "src/greet.ts",
        "patch": "@@ -1,3 +1,3 @@\n export function greet(name: string) {\n-  return \"Helo, \" + name;\n+  return \"Hello, \" + name;\n }\n"
      }
      """
    Then the tool answers:
      """
      { "$any": "value" }
      """
    And the file "src/greet.ts" holds:
      """
      export function greet(name: string) {
        return "Hello, " + name;
      }
      """

  @id:story/somebody-was-faster @shows:TOOLS-053
  Scenario: Somebody else was faster, and the patch does not fit any more
    Given the permission "Edit"
    When the tool "Edit" is run with:
      """
      { "file": "src/greet.ts", "patch": "@@ -1,3 +1,3 @@\n export function greet(who: string) {\n-  return \"Helo, \" + who;\n+  return \"Hello, \" + who;\n }\n" }
      """
    Then it returns:
      """
      { "$open": { "ok": false } }
      """
    And the file "src/greet.ts" holds:
      """
      export function greet(name: string) {
        return "Helo, " + name;
      }
      """

  @id:story/nobody-allowed-it @shows:TOOLS-085
  Scenario: Nobody allowed it
    When the tool "Write" is run with:
      """
      { "file": "src/greet.ts", "content": "" }
      """
    Then the tool is refused with EPERMISSION
    And the file "src/greet.ts" holds:
      """
      export function greet(name: string) {
        return "Helo, " + name;
      }
      """

  @id:story/a-look-before-the-leap @shows:TOOLS-103
  Scenario: The user wants to see first what would happen
    Given the permission "Write"
    And a dry run
    When the tool "Write" is run with:
      """
      { "file": "src/part.ts", "content": "export const part = 1;\n" }
      """
    Then the tool answers:
      """
      { "$any": "value" }
      """
    And the file "src/part.ts" does not exist

  @id:story/one-property-too-many @shows:TOOLS-029
  Scenario: A model makes up an option
    Given the permission "Write"
    When the tool "Write" is run with:
      """
      { "file": "src/greet.ts", "content": "", "backup": true }
      """
    Then the tool is refused with EVALIDATION
    And the file "src/greet.ts" holds:
      """
      export function greet(name: string) {
        return "Helo, " + name;
      }
      """
