# frozen_string_literal: true

require "heapsample/rspec"
require_relative "examples"

RSpec.describe "what holds" do
  let(:shop) { Examples::Shop.new }

  it("retains nothing") { expect { shop.work }.to retain_at_most(0, warmup: 1) }
  it("does not retain what is returned") { expect { Array.new(1000) { "text" * 50 } }.to retain_at_most(0, warmup: 1) }
  it("does not retain what was rescued") { expect { shop.fails }.to retain_at_most(0, warmup: 1) }

  it "does not leak by a bounded cache" do
    id = 0
    expect { shop.visit(id += 1) }.not_to leak
  end

  it("does not leak") { expect { shop.work }.not_to leak(runs: 6) }
end

RSpec.describe "what fails" do
  it("retains a megabyte") { expect { Examples::KEPT << "m" * 1_000_000 }.to retain_at_most(1000) }
  it("leaks") { expect { Examples::KEPT << Object.new }.not_to leak(warmup: 1, runs: 6) }
end

RSpec.describe "what allocates" do
  let!(:shop) { Examples::Shop.new }

  it("is little") { expect { shop.work }.to allocate_at_most(10_000) }
  it("has a small peak") { expect { shop.work }.to peak_at_most(200 << 20) }
  it("is much") { expect { shop.work }.to allocate_at_most(10) }
  it("has a large peak") { expect { Examples.megabytes(40) }.to peak_at_most(1 << 20) }
end
