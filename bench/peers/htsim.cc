// Transfers and bulk flows over any network in htsim: htsim FILE DURATION LIMIT WINDOW INITIAL
//
// FILE has lines `link MBIT DELAY_MS QUEUE` (one direction; rate 0: a delay only), and
// `flow START_S SEGMENTS HOPS LINK… BACK LINK…` (0 segments: no end), links by their number in
// the file. DURATION in seconds, LIMIT in CPU seconds, windows in segments. Prints one line of JSON.
//
// htsim's TCP has packets of one size, which are its segments: 1502 bytes with all headers, and 40
// for an acknowledgment.

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace
{

const int PACKET = 1502;

double CpuSeconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
}

/// One direction of a link.
struct Link
{
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> pipe;
};

struct Flow
{
    TcpSrc* source;
    TcpSink* sink;
    uint64_t segments;

    uint64_t Delivered() const
    {
        // The SYN is a byte; the last packet of a flow may reach beyond its size.
        const uint64_t all = sink->_cumulative_ack > 1 ? (sink->_cumulative_ack - 1) / PACKET : 0;
        return segments > 0 ? std::min(all, segments) : all;
    }

    bool Over() const { return segments > 0 && Delivered() >= segments; }
};

class Network
{
  public:
    Network(std::istream& in, int window, int initial)
        : m_window(window),
          m_initial(initial),
          m_timers(timeFromMs(10), EventList::getTheEventList())
    {
        for (std::string line, kind; std::getline(in, line);)
        {
            std::istringstream words(line);
            words >> kind;
            kind == "link" ? AddLink(words) : AddFlow(words);
        }
    }

    std::vector<Flow> flows;

  private:
    void AddLink(std::istream& words)
    {
        double mbit, delay_ms;
        int packets;
        words >> mbit >> delay_ms >> packets;
        Link link;
        auto& events = EventList::getTheEventList();
        if (mbit > 0)
        {
            // The packet under way counts in htsim's queue.
            const mem_b room = mem_b(packets + 1) * PACKET;
            link.queue.reset(new Queue(speedFromMbps(mbit), room, events, nullptr));
        }
        link.pipe.reset(new Pipe(simtime_picosec(delay_ms * 1e9 + 0.5), events));
        m_links.push_back(std::move(link));
    }

    void AddFlow(std::istream& words)
    {
        double start;
        uint64_t segments;
        words >> start >> segments;
        Route* out = ReadRoute(words);
        Route* back = ReadRoute(words);
        auto* source = new TcpSrc(nullptr, nullptr, EventList::getTheEventList());
        auto* sink = new TcpSink();
        out->push_back(sink);
        back->push_back(source);
        source->set_cwnd(m_initial * PACKET);
        source->set_ssthresh(0xffffffff);
        source->_maxcwnd = m_window * PACKET;
        if (segments > 0)
        {
            // It sends while no more than this and a byte were sent.
            source->_flow_size = (segments - 1) * PACKET;
        }
        m_timers.registerTcp(*source);
        source->connect(*out, *back, *sink, simtime_picosec(start * 1e12));
        flows.push_back({source, sink, segments});
    }

    Route* ReadRoute(std::istream& words)
    {
        int hops;
        words >> hops;
        auto* route = new Route();
        for (int hop = 0, number; hop < hops; hop++)
        {
            words >> number;
            const Link& link = m_links.at(number);
            if (link.queue)
            {
                route->push_back(link.queue.get());
            }
            route->push_back(link.pipe.get());
        }
        return route;
    }

    std::vector<Link> m_links;
    int m_window;
    int m_initial;
    TcpRtxTimerScanner m_timers;
};

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 6)
    {
        std::fprintf(stderr, "htsim FILE DURATION LIMIT WINDOW INITIAL\n");
        return 2;
    }
    const double duration = std::stod(argv[2]), limit = std::stod(argv[3]);
    // htsim tells of each flow.
    std::cout.setstate(std::ios_base::badbit);
    Packet::set_packet_size(PACKET);
    EventList::setEndtime(simtime_picosec(duration * 1e12));
    std::ifstream file(argv[1]);
    Network network(file, std::stoi(argv[4]), std::stoi(argv[5]));
    const double setup = CpuSeconds();

    size_t first_open = 0;
    bool stopped = false;
    for (uint64_t events = 1; EventList::doNextEvent(); events++)
    {
        if (events % 64 == 0)
        {
            while (first_open < network.flows.size() && network.flows[first_open].Over())
            {
                first_open++;
            }
        }
        const bool late = events % 65536 == 0 && CpuSeconds() > limit;
        stopped = late || first_open == network.flows.size();
        if (stopped)
        {
            break;
        }
    }
    uint64_t segments = 0;
    for (const auto& flow : network.flows)
    {
        segments += flow.Delivered();
    }
    const double end = stopped ? timeAsSec(EventList::now()) : duration;
    std::printf("{\"segments\": %llu, \"simulated_s\": %.9f, \"setup_s\": %.6f}\n",
                static_cast<unsigned long long>(segments),
                end,
                setup);
    std::fflush(stdout);
    // Its destructors expect an order that no program of htsim's keeps.
    _exit(0);
}
