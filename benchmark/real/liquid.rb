# Liquid parses the templates of a shop and renders them with drops, filters, loops and an include.
# Usage: ruby liquid.rb ROUNDS
require "liquid"

class ProductDrop < Liquid::Drop
  attr_reader :id, :title, :price, :tags, :description

  def initialize(id)
    super()
    @id = id
    @title = "Product <#{id}>"
    @price = id * 37 % 1000 + 99
    @tags = %W[tag#{id % 5} sale new]
    @description = "A fine thing that is #{"very " * (id % 9)}useful. " * 4
  end
end

module Money
  def money(cents) = format("$ %.2f", cents / 100.0)
end

LIST = <<~'LIQUID'
  <h1>{{ shop | upcase | escape }}</h1>
  {% assign shown = products | sort: "price" %}
  {%- for product in shown limit: 60 -%}
    {% if product.price > 500 %}{% assign class = "dear" %}{% else %}{% assign class = "cheap" %}{% endif %}
    <div class="{{ class }} {% cycle "odd", "even" %}">
      <a href="/p/{{ product.id }}">{{ product.title | escape | truncate: 30 }}</a> {{ product.price | money }}
      {% for tag in product.tags %}<i>{{ tag | capitalize }}</i>{% unless forloop.last %}, {% endunless %}{% endfor %}
      <p>{{ product.description | strip_html | truncatewords: 12 }}</p>
      {% case forloop.index0 %}{% when 0 %}first{% when 1 %}second{% else %}{{ forloop.index }}{% endcase %}
    </div>
  {%- endfor -%}
LIQUID
CART = <<~'LIQUID'
  {% capture total %}{{ items | map: "price" | sum | money }}{% endcapture %}
  {% tablerow item in items cols: 3 %}{{ item.title | replace: "<", "" | append: "!" }}{% endtablerow %}
  <b>{{ total | strip }}</b> {{ "now" | prepend: "ordered " | split: " " | join: "-" }}
LIQUID

environment = Liquid::Environment.build { |e| e.register_filter(Money) }
products = Array.new(80) { |id| ProductDrop.new(id) }
lists = carts = nil
lengths = Array.new(Integer(ARGV[0])) do |round|
  if (round % 20).zero?
    lists = Liquid::Template.parse(LIST, environment:)
    carts = Liquid::Template.parse(CART, environment:)
  end
  page = lists.render!("shop" => "The <Shop>", "products" => products)
  cart = carts.render!("items" => products.first(9))
  raise "not what it should be: #{cart}" unless round.positive? || (page.include?("THE &lt;SHOP&gt;") && cart.include?("ordered-now"))
  page.size + cart.size
end
raise "lengths #{lengths.tally}" unless lengths.uniq.size == 1 && lengths[0] > 10_000
