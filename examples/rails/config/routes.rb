Rails.application.routes.draw do
  resources :tickets, only: %i[index show]
  get "up", to: proc { [200, {"content-type" => "text/plain"}, ["up"]] }
end
