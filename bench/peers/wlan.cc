// One bulk TCP flow over 802.11b stations in a row in ns-3: wlan --KEY=VALUE ...
//
// The keys are those of scenarios.py. All stations hear each other; routes lead from each to its
// neighbour.

#include "run.h"

#include "ns3/mobility-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

namespace
{

/// Stations with a channel on which all are equally near, 1 us apart.
NetDeviceContainer
Stations(const NodeContainer& nodes, uint32_t queue)
{
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    Ptr<MatrixPropagationLossModel> loss = CreateObject<MatrixPropagationLossModel>();
    loss->SetDefaultLoss(60);
    Ptr<ConstantRandomVariable> micro = CreateObject<ConstantRandomVariable>();
    micro->SetAttribute("Constant", DoubleValue(1e-6));
    Ptr<RandomPropagationDelayModel> delay = CreateObject<RandomPropagationDelayModel>();
    delay->SetAttribute("Variable", PointerValue(micro));
    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(delay);

    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    // ACKs are sent at 11 Mbit/s, too: the highest mandatory rate of the data's modulation.
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("DsssRate11Mbps"),
                                 "ControlMode",
                                 StringValue("DsssRate11Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    // Retransmissions: six of them are seven attempts.
    Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(6));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize",
                       QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    // Packets wait as long as they must.
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1e6)));
    return wifi.Install(phy, mac, nodes);
}

/// Addresses in one subnet, routes from neighbour to neighbour.
Ipv4Address
Connect(const NodeContainer& nodes, const NetDeviceContainer& devices)
{
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = address.Assign(devices);
    const uint32_t last = nodes.GetN() - 1;
    Ipv4StaticRoutingHelper helper;
    for (uint32_t i = 0; i <= last; i++)
    {
        Ptr<Ipv4StaticRouting> routes = helper.GetStaticRouting(nodes.Get(i)->GetObject<Ipv4>());
        if (i + 1 < last)
        {
            routes->AddHostRouteTo(interfaces.GetAddress(last), interfaces.GetAddress(i + 1), 1);
        }
        if (i > 1)
        {
            routes->AddHostRouteTo(interfaces.GetAddress(0), interfaces.GetAddress(i - 1), 1);
        }
    }
    return interfaces.GetAddress(last);
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t hops = 1;
    uint32_t queue = 100;
    double duration = 10;
    double limit = 300;
    uint32_t seed = 1;
    Tcp tcp;
    CommandLine line(__FILE__);
    line.AddValue("hops", "hops from the first station to the last", hops);
    line.AddValue("queue", "packets that a station holds", queue);
    line.AddValue("duration", "simulated seconds", duration);
    line.AddValue("limit", "CPU seconds", limit);
    line.AddValue("seed", "of the random draws", seed);
    tcp.AddTo(line);
    line.Parse(argc, argv);
    tcp.SetDefaults();
    RngSeedManager::SetRun(seed);
    Time::SetResolution(Time::NS);

    Run run(duration, 0, limit, tcp);
    NodeContainer nodes;
    nodes.Create(hops + 1);
    const NetDeviceContainer devices = Stations(nodes, queue);
    const Ipv4Address end = Connect(nodes, devices);
    run.AddFlow(nodes.Get(0), nodes.Get(hops), InetSocketAddress(end, 5000), 0);
    const auto [segments, simulated] = run.Go();
    Print(segments, simulated, run.SetupSeconds());
    Simulator::Destroy();
    return 0;
}
