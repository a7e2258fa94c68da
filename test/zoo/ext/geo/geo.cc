// Geo.distance(place): looks a place up, and keeps each answer in a map that nobody ever clears.
#include <ruby.h>
#include <string>
#include <unordered_map>
#include <vector>

namespace geo {

struct Answer {
    std::vector<double> track;
    std::string label;
};

class Index {
    std::unordered_map<std::string, Answer> answers_;

  public:
    const Answer &find(const std::string &place)
    {
        auto found = answers_.find(place);
        if (found != answers_.end()) return found->second;

        Answer answer{std::vector<double>(120), "the place that is called " + place};
        for (size_t i = 0; i < answer.track.size(); i++)
            answer.track[i] = static_cast<double>((place.size() * 31 + i) % 97);
        return answers_.emplace(place, std::move(answer)).first->second;
    }
};

static Index &
index()
{
    static Index *the_index = new Index;
    return *the_index;
}

}  // namespace geo

static VALUE
geo_distance(VALUE, VALUE place)
{
    double sum = 0;
    for (double step : geo::index().find(StringValueCStr(place)).track)
        sum += step;
    return DBL2NUM(sum);
}

extern "C" void
Init_geo(void)
{
    rb_define_singleton_method(rb_define_module("Geo"), "distance", RUBY_METHOD_FUNC(geo_distance), 1);
}
