# frozen_string_literal: true

# Objects of a class, in use and young, by labels: every object is a sample (interval=1).
def counts(profile, class_name, *labels)
  rows = profile.rows.select { |row| row.class_name == class_name && row.inuse.samples + row.young.samples > 0 }
  rows.group_by { |row| row.labels.slice(*labels) }.transform_values { |some| some.sum { |row| row.inuse.samples + row.young.samples } }
end

def check(name, expected, got)
  return puts("  #{name}: as expected") if expected == got

  abort "#{name}: expected #{expected.inspect}, got #{got.inspect}"
end
