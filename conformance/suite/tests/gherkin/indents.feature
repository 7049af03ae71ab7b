Feature: tabs
	Scenario: s
		Given a
			| x |
   	
  	Then b
  And c
