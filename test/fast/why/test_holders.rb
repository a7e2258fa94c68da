# frozen_string_literal: true

require_relative "program"

class HoldersTest < Test
  include Program

  test "a constant retains records through the author whose association loaded them" do
    books = profile_of("includes").filter(class: "Book")
    holder = holder_of(books)
    assert holder.path.any? { |edge| edge.name == "PAGES" }, holder.path.map(&:name).inspect
    assert_operator holder.share, :>, 0.9
    assert folded(books).match?(/PAGES;.*association/)
  end

  test "code that Active Record loads is named as loaded code" do
    code = profile_of("includes").filter(class: "(imemo:ment)")
    loaded = folded(code).lines.grep(/\(loaded code\)/).sum { |line| line[/\d+$/].to_i }
    assert_operator loaded, :>, 0.9 * code.why.total.space
  end

  test "Rails' own caches have their names" do
    all = folded(profile_of("includes"))
    ["@dangerous_attribute_methods of module ActiveRecord::AttributeMethods",
     /@__(en_)?instance__ of class ActiveSupport::Inflector::Inflections/].each do |name|
      assert all.match?(/^\(constants\);#{name};/), "no line of #{name}"
    end
  end

  test "without the constant about as many bytes would be freed as it retains" do
    why = profile_of("includes").why
    pages = why.root.children.flat_map(&:children).find { |node| node.steps.first.first.name == "PAGES" }
    freed = why.freed.find { |one| one.names.last == "PAGES" }
    assert pages && freed, [folded(profile_of("includes")).lines.first(20), why.freed.map(&:names)].inspect
    assert_includes 0.8 * pages.estimate.space..1.01 * pages.estimate.space, freed.estimate.space
  end

  test "a notifier's list of subscribers retains orders through the blocks' variables" do
    orders = profile_of("subscribers").filter(class: "Order")
    assert_equal "@string_subscribers of ActiveSupport::Notifications::Fanout", holder_of(orders).edge.name
    assert folded(orders).include?("local order of")
  end

  test "the block of the last worker retains the variables of all workers before" do
    baggage = profile_of("parents").filter(class: "Baggage")
    chained = folded(baggage).lines.grep(/^\(threads\);local before of .*;local baggage of block in/).sum { |line| line[/\d+$/].to_i }
    assert_operator chained, :>, 0.8 * baggage.why.total.space
    assert holder_of(baggage).to_s.start_with?("local before of"), holder_of(baggage).to_s
  end

  test "the diagnosis of a growing series, and a difference, name the constant and not the array that each order has" do
    folder = "#{OUT}/growing"
    FileUtils.rm_rf(folder)
    FileUtils.mkdir_p(folder)
    run_program("growing", settings: "interval=16k,malloc=16k", into: folder)
    worst = JSON.parse(heapsample(folder, "--json")).fetch("processes").first
    assert_equal "Shop::ORDERS", worst.dig("findings", 0, "holder", "name"), worst["findings"].inspect
    assert_includes heapsample("diff", "#{folder}/04.pb.gz", "#{folder}/15.pb.gz", "--width", "400"), "`Shop::ORDERS`"
  end

  private

  def folded(profile)
    assert_nil profile.why.reason
    profile.why.text.to_folded
  end

  def holder_of(profile) = profile.nearest_holder.of_rows(profile.table)
end
