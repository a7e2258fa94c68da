# A key is derived from each user's name by Active Support's caching generator, whose cache has no bound.
#
# kind: leak
# tuned: yes
# line: key_generator.rb, openssl/
# keeper: key_generator.rb, @cache_keys, KEYS
# gems: activesupport 8.0.2
require_relative "../load"
require "active_support"
require "active_support/key_generator"

KEYS = ActiveSupport::CachingKeyGenerator.new(ActiveSupport::KeyGenerator.new("secret", iterations: 50))

Load.run(60) { |n| KEYS.generate_key("user #{n} of the shop at #{n % 13} Long Street, Springfield", 512) } # LEAK
