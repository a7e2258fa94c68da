# frozen_string_literal: true

require_relative "../../testing"

# src/internal/heap_sampler.h declares the hooks.
class HooksTest < Test
  TOP = File.expand_path("../../..", __dir__)
  HOOKS = File.read("#{TOP}/src/internal/heap_sampler.h").scan(/^(?:CHECK_)?HOOK\([\w ]+, (\w+), \(/).flatten

  test "there are hooks" do
    assert_operator HOOKS.size, :>, 25
  end

  test "each is called by a patch, or by what patches include" do
    calls = Dir["#{TOP}/patches/3.4/*.patch"].map { |path| File.read(path).scan(/^\+.*/).join("\n") } + Dir["#{TOP}/src/gc/default/*"].map { |path| File.read(path) }
    calling = calls.join("\n")
    assert_equal [], HOOKS.reject { |name| calling.match?(/\b#{name}\(|CALL\(#{name.delete_prefix("Init_")}\)/) }
  end

  test "each is defined once" do
    sources = Dir["#{TOP}/src/{heap_sampler,gc}/**/*.{c,inc}"].map { |path| File.read(path) }.join("\n")
    assert_equal [], HOOKS.reject { |name| sources.scan(/^#{name}\(/).size == 1 }
  end
end
