"""What commands are made of: prepare the inputs, get the teachers' outputs, fit the method, train the student, describe the run."""
