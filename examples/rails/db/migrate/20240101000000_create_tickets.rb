class CreateTickets < ActiveRecord::Migration[8.0]
  def change
    create_table :tickets do |t|
      t.string :event, null: false
      t.string :place, null: false
      t.integer :price_cents, null: false
      t.timestamps
    end
  end
end
