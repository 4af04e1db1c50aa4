#= ask

def ask(method, path, *lines)
  url = URI(URL + path)
  type = lines.length > 1 ? "application/x-ndjson" : "application/json"
  body = lines.map { |line| JSON.generate(line) + "\n" }.join
  headers = {"Content-Type" => type@authorization@}
  options = {use_ssl: url.scheme == "https"@certificates@}
  reply = Net::HTTP.start(url.hostname, url.port, **options) { |http| http.send_request(method, url, body, headers) }
  raise reply.body unless reply.is_a?(Net::HTTPSuccess)
  read = JSON.parse(reply.body)
  (read["responses"] || []).each { |part| raise part["error"].to_s if part["error"] }
  read
end

#= ApiKey
"ApiKey #{ENV.fetch("SES_ENGINE_API_KEY")}"
#= Bearer
"Bearer #{ENV.fetch("SES_ENGINE_TOKEN")}"
#= Basic
"Basic " + ["#{ENV.fetch("SES_ENGINE_USERNAME")}:#{ENV.fetch("SES_ENGINE_PASSWORD")}"].pack("m0")
#= variable
@name@ = @value@
#= argument
words = ARGV.fetch(0, @value@).dup.force_encoding(Encoding::UTF_8)
#= vector
JSON.parse(File.read("vector.json"))
#= call
ask(@method@, @path@, @lines@)
#= page

page = @call@
#= counts
matches = page["aggregations"]["all"]["matches"]
page["hits"]["total"] = {"value" => matches.delete("doc_count"), "relation" => "eq"}
page["aggregations"] = matches
#= begin
legs = []
#= legs
legs += @call@["responses"]
#= rank
ranking = join_legs(legs, @weights@, @measures@, @window@, @constant@)
#= best
(ranking.empty? ? 1 : ranking[0][1])
#= neighbours
near = ranking.first(@pool@).map(&:first)
vectors = paper_vectors(@call@, @field@)
ranking = with_neighbours(ranking, vectors, @weight@, @nearest@, @first@, @largest@)
#= show
found = ranking.map(&:first)
shown = ranking[@offset@, @size@] || []
ids = shown.map(&:first)
replies = @call@["responses"]
papers = replies.flat_map { |reply| reply["hits"]["hits"] }.to_h { |hit| [id_of(hit), hit] }
hits = shown.select { |id, _| papers.key?(id) }.map { |id, score| papers[id].merge("_score" => score) }
counts = replies.last
page = {"hits" => {"total" => counts["hits"]["total"], "hits" => hits}}
page["aggregations"] = counts["aggregations"] || {}
#= end
puts JSON.pretty_generate(page)
#= words
known = {}
vector = direction_of(vectors_of(words, known) { |terms| @call@ })
#= table
vector = QueryTable.new(@file@).vector(words)
#= feedback
first = @call@["hits"]["hits"].filter_map { |hit| hit.dig("fields", @field@)&.flatten }
vector = direction_of(first.map { |one| direction_of([one]) })
#= service
service = ENV.fetch("SES_SERVICE", "http://127.0.0.1:8765")
encoded = Net::HTTP.post(URI(service + "@path@"), JSON.generate(@body@), "Content-Type" => "application/json")
raise encoded.body unless encoded.is_a?(Net::HTTPSuccess)
vector = JSON.parse(encoded.body)["vectors"][0]
#= spelled
spelled = spelled_of(words, @known@)
#= unknown
{}
