// Bulk TCP flows, or one transfer, over a row of links in ns-3: wired --KEY=VALUE ...
//
// The keys are those of scenarios.py. Several `runs` differ in their random draws alone; they go one
// after another in this process, and their segments and times are summed.

#include "run.h"

#include "ns3/point-to-point-module.h"

#include <sstream>

using namespace ns3;

namespace
{

struct LinkOf
{
    double mbit;
    double delayMs;
    uint32_t queue;
    double loss;
};

struct Options
{
    std::string path{"10:10:100:0"};
    std::string access{"none"};
    uint32_t flows{1};
    uint32_t pairs{1};
    uint64_t transfer{0};
    double stagger{0};
    double duration{10};
    double limit{300};
    uint32_t seed{1};
    uint32_t runs{1};
};

LinkOf
ParseLink(const std::string& text)
{
    LinkOf link;
    NS_ABORT_MSG_IF(std::sscanf(text.c_str(),
                                "%lf:%lf:%u:%lf",
                                &link.mbit,
                                &link.delayMs,
                                &link.queue,
                                &link.loss) != 4,
                    "A link is RATE:DELAY:QUEUE:LOSS, not " << text);
    return link;
}

/// Hosts and routers with the links between them, all routes written by hand.
class Network
{
  public:
    explicit Network(const Options& options)
    {
        m_address.SetBase("10.0.0.0", "255.255.255.252");
        std::vector<LinkOf> links;
        std::istringstream path(options.path);
        for (std::string text; std::getline(path, text, ',');)
        {
            links.push_back(ParseLink(text));
        }
        m_chain.Create(links.size() + 1);
        m_stack.Install(m_chain);
        Ipv4Address end;
        for (uint32_t i = 0; i < links.size(); i++)
        {
            const auto [near, far] = Join(m_chain.Get(i), m_chain.Get(i + 1), links[i]);
            end = far;
            // The way on, and from the last node the way back.
            if (i == 0)
            {
                RouteRest(m_chain.Get(0), far);
            }
            if (i + 1 == links.size())
            {
                RouteRest(m_chain.Get(i + 1), near);
            }
        }
        for (uint32_t pair = 0; pair < options.pairs; pair++)
        {
            if (options.access == "none")
            {
                m_from.Add(m_chain.Get(0));
                m_to.Add(m_chain.Get(links.size()));
                m_at.push_back(end);
                continue;
            }
            AddPair(ParseLink(options.access));
        }
    }

    void AddFlow(Run& run, uint32_t flow, double start) const
    {
        const uint32_t pair = flow % m_at.size();
        const uint16_t port = 5000 + flow / m_at.size();
        run.AddFlow(m_from.Get(pair), m_to.Get(pair), InetSocketAddress(m_at[pair], port), start);
    }

  private:
    void AddPair(const LinkOf& access)
    {
        NodeContainer hosts;
        hosts.Create(2);
        m_stack.Install(hosts);
        const auto [source, left] = Join(hosts.Get(0), m_chain.Get(0), access);
        const auto [right, sink] = Join(m_chain.Get(m_chain.GetN() - 1), hosts.Get(1), access);
        RouteRest(hosts.Get(0), left);
        RouteRest(hosts.Get(1), right);
        m_from.Add(hosts.Get(0));
        m_to.Add(hosts.Get(1));
        m_at.push_back(sink);
    }

    /// Addresses of the two ends.
    std::pair<Ipv4Address, Ipv4Address> Join(Ptr<Node> near, Ptr<Node> far, const LinkOf& link)
    {
        PointToPointHelper helper;
        helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(link.mbit * 1e6))));
        helper.SetChannelAttribute("Delay", TimeValue(MicroSeconds(uint64_t(link.delayMs * 1e3))));
        helper.SetQueue("ns3::DropTailQueue<Packet>",
                        "MaxSize",
                        QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, link.queue)));
        // The device's queue is the only one, and drops by itself.
        helper.DisableFlowControl();
        NetDeviceContainer devices = helper.Install(near, far);
        if (link.loss > 0)
        {
            Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
            errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            errors->SetRate(link.loss);
            devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
        }
        Ipv4InterfaceContainer interfaces = m_address.Assign(devices);
        m_address.NewNetwork();
        return {interfaces.GetAddress(0), interfaces.GetAddress(1)};
    }

    void RouteRest(Ptr<Node> from, Ipv4Address next)
    {
        Ptr<Ipv4> ipv4 = from->GetObject<Ipv4>();
        Ptr<Ipv4StaticRouting> routes = Ipv4StaticRoutingHelper().GetStaticRouting(ipv4);
        const Ipv4Mask mask("255.255.255.252");
        for (uint32_t i = 1; i < ipv4->GetNInterfaces(); i++)
        {
            if (mask.IsMatch(ipv4->GetAddress(i, 0).GetLocal(), next))
            {
                routes->SetDefaultRoute(next, i);
            }
        }
    }

    InternetStackHelper m_stack;
    Ipv4AddressHelper m_address;
    NodeContainer m_chain;
    NodeContainer m_from;
    NodeContainer m_to;
    std::vector<Ipv4Address> m_at;
};

} // namespace

int
main(int argc, char* argv[])
{
    Options options;
    Tcp tcp;
    CommandLine line(__FILE__);
    line.AddValue("path", "the links, each RATE_MBIT:DELAY_MS:QUEUE:LOSS", options.path);
    line.AddValue("access", "the hosts' links, or none", options.access);
    line.AddValue("flows", "bulk flows", options.flows);
    line.AddValue("pairs", "pairs of hosts", options.pairs);
    line.AddValue("transfer", "segments to transfer; 0: no end", options.transfer);
    line.AddValue("stagger", "flows start evenly over these seconds", options.stagger);
    line.AddValue("duration", "simulated seconds", options.duration);
    line.AddValue("limit", "CPU seconds", options.limit);
    line.AddValue("seed", "of the first run", options.seed);
    line.AddValue("runs", "runs, one after another", options.runs);
    tcp.AddTo(line);
    line.Parse(argc, argv);
    tcp.SetDefaults();

    uint64_t segments = 0;
    double simulated = 0;
    double setup = 0;
    for (uint32_t i = 0; i < options.runs; i++)
    {
        RngSeedManager::SetRun(options.seed + i);
        {
            Run run(options.duration, options.transfer, options.limit, tcp);
            Network network(options);
            for (uint32_t flow = 0; flow < options.flows; flow++)
            {
                network.AddFlow(run, flow, options.stagger * flow / options.flows);
            }
            const auto [delivered, seconds] = run.Go();
            segments += delivered;
            simulated += seconds;
            setup = i == 0 ? run.SetupSeconds() : setup;
        }
        Simulator::Destroy();
    }
    Print(segments, simulated, setup);
    return 0;
}
