exclude :test_names_of_symbols_that_were_made_from_strings, "slots have 48 and 96 bytes, where the test counts 40 and 160"
