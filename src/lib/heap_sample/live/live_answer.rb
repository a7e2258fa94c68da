# frozen_string_literal: true

module HeapSample
  # What a process says of itself in JSON, read: names are Symbols, accounts are an Account, threads and fibers an Alive.
  module LiveAnswer
    module_function

    def described(answer)
      answer.to_h do |name, value|
        value = Account.of(value) if name.start_with?("account")
        value = Alive.of(value) if name == "alive"
        value = value&.transform_keys(&:to_sym) if name == "gc"
        [name.to_sym, value]
      end
    end
  end
end
