-- Sends the lines of a file in turn, and ends with one line of numbers. Arguments: the file, and
-- the line to begin with. A line is the viewer (or a hyphen), a tab and the body of a request.
local requests, index = {}, 0

function init(args)
    for line in io.lines(args[1]) do
        local viewer, body = line:match("^(%S+)\t(.*)$")
        local headers = { ["Content-Type"] = "application/json" }
        if viewer ~= "-" then
            headers["X-Viewer"] = viewer
        end
        requests[#requests + 1] = wrk.format("POST", "/graphql", headers, body)
    end
    index = tonumber(args[2])
end

function request()
    index = index % #requests + 1
    return requests[index]
end

function done(summary, latency)
    local errors = summary.errors
    print(string.format(
        "RESULT %d %d %d %d %d",
        summary.requests,
        summary.duration,
        latency:percentile(50),
        latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout
    ))
end
