Ability: x
  Scenario:no space
    Given    many   spaces   
