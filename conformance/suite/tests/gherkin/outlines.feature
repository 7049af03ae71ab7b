Feature: Outlines

  @outline
  Scenario Outline: the <what> of <who>
    Some words
    Given the <what>
    When <who> meets <what> and <what>
    Then all is "<who>"

    @first
    Examples: The first
      Words, too.

      | what  | who |
      # a comment
      | minim | ann |

      | maxim | bob |

    @second @third
    Examples:
      | who | what |
      | eve | midi |

  Scenario: an outline by its examples
    Given <a b>
    Examples:
      | a b | unused |
      | 1   |        |
