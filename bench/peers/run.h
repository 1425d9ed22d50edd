// What both ns-3 programs do alike: run until the end or until the CPU time is used up, then print
// one line of JSON.

#ifndef RETX_BENCH_RUN_H
#define RETX_BENCH_RUN_H

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <algorithm>
#include <cstdio>
#include <sys/resource.h>
#include <vector>

/// Bytes of data in a segment without options.
const uint32_t SEGMENT = 1460;

/// This process's user CPU time.
inline double
CpuSeconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
}

/// The TCP of scenarios.py; windows in segments.
struct Tcp
{
    uint32_t window{20};
    uint32_t initialWindow{2};
    bool sack{true};
    bool delayedAck{true};
    bool timestamps{false};
    std::string congestionControl{"newreno"};
    double minRto{1};
    double initialRto{3};

    void AddTo(ns3::CommandLine& line)
    {
        line.AddValue("window", "receive window in segments", window);
        line.AddValue("initial_window", "initial window in segments", initialWindow);
        line.AddValue("sack", "selective acknowledgments", sack);
        line.AddValue("delayed_ack", "one acknowledgment for two segments", delayedAck);
        line.AddValue("timestamps", "the option, which takes 12 bytes of data", timestamps);
        line.AddValue("congestion_control", "newreno, cubic or bbr", congestionControl);
        line.AddValue("min_rto", "least RTO in seconds", minRto);
        line.AddValue("initial_rto", "RTO before the first sample in seconds", initialRto);
    }

    /// Bytes of data in a segment.
    uint32_t Segment() const
    {
        return timestamps ? SEGMENT - 12 : SEGMENT;
    }

    void SetDefaults() const
    {
        using namespace ns3;
        const uint32_t bytes = window * SEGMENT;
        const std::string type = congestionControl == "bbr"     ? "ns3::TcpBbr"
                                 : congestionControl == "cubic" ? "ns3::TcpCubic"
                                                                : "ns3::TcpNewReno";
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(type)));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(Segment()));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(bytes));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 * bytes));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initialWindow));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayedAck ? 2 : 1));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(200)));
        // Two initial RTOs: the SYN's and the data's.
        Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(initialRto)));
        Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(initialRto)));
        // By default a connection gives up after six retransmissions.
        Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
        Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
        Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));
        Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
        Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(bytes > 65535));
    }
};

/// One run: its sinks, and what is to be told of it.
class Run
{
  public:
    /// Ends at `duration` seconds, when `transfer` segments have come, or after `limit` CPU seconds.
    Run(double duration, uint64_t transfer, double limit, const Tcp& tcp)
        : m_duration(duration),
          m_segment(tcp.Segment()),
          m_transfer(transfer * tcp.Segment()),
          m_limit(limit),
          m_step(duration / 1e6)
    {
    }

    /// A bulk sender at `from`, its sink at `to`, which has this address.
    void AddFlow(ns3::Ptr<ns3::Node> from,
                 ns3::Ptr<ns3::Node> to,
                 const ns3::InetSocketAddress& address,
                 double start)
    {
        using namespace ns3;
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), address.GetPort()));
        m_sinks.push_back(DynamicCast<PacketSink>(sink.Install(to).Get(0)));
        if (m_transfer > 0)
        {
            m_sinks.back()->TraceConnectWithoutContext("Rx", MakeCallback(&Run::OnData, this));
        }
        BulkSendHelper bulk("ns3::TcpSocketFactory", address);
        bulk.SetAttribute("MaxBytes", UintegerValue(m_transfer));
        bulk.SetAttribute("SendSize", UintegerValue(m_segment));
        bulk.Install(from).Start(Seconds(start));
    }

    /// Runs it; segments delivered, and simulated seconds.
    std::pair<uint64_t, double> Go()
    {
        using namespace ns3;
        Simulator::Stop(Seconds(m_duration));
        Watch();
        m_setup = CpuSeconds();
        Simulator::Run();
        uint64_t bytes = 0;
        for (const auto& sink : m_sinks)
        {
            bytes += sink->GetTotalRx();
        }
        return {bytes / m_segment, Simulator::Now().GetSeconds()};
    }

    /// CPU seconds before the first event.
    double SetupSeconds() const
    {
        return m_setup;
    }

  private:
    /// Looks seldom when that is cheap, often when time flies.
    void Watch()
    {
        using namespace ns3;
        const double now = CpuSeconds();
        if (now > m_limit)
        {
            Simulator::Stop();
        }
        const bool slow = now - m_looked > m_limit / 200;
        m_step = slow ? m_step / 2 : std::min(2 * m_step, m_duration / 500);
        m_looked = now;
        Simulator::Schedule(Seconds(m_step), &Run::Watch, this);
    }

    void OnData(ns3::Ptr<const ns3::Packet> packet, const ns3::Address&)
    {
        m_arrived += packet->GetSize();
        if (m_arrived >= m_transfer)
        {
            ns3::Simulator::Stop();
        }
    }

    double m_duration;
    uint32_t m_segment;
    uint64_t m_transfer;
    double m_limit;
    double m_step;
    double m_looked{0};
    double m_setup{0};
    uint64_t m_arrived{0};
    std::vector<ns3::Ptr<ns3::PacketSink>> m_sinks;
};

/// The line that a program ends with.
inline void
Print(uint64_t segments, double simulated, double setup)
{
    std::printf("{\"segments\": %llu, \"simulated_s\": %.9f, \"setup_s\": %.6f}\n",
                static_cast<unsigned long long>(segments),
                simulated,
                setup);
}

#endif
