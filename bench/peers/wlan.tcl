# One bulk TCP flow over 802.11b stations in a row in ns-2: ns wlan.tcl KEY VALUE ...
#
# Stations stand 200 m apart and receive up to 250 m. All sense each other; who is out of range waits
# EIFS after what it has sensed, where the other two simulators' stations read the frame. Routes are
# found by AODV: there are no static ones between ns-2's mobile nodes. Prints one line of JSON.

array set o {
    hops 1 queue 100 window 20 initial_window 2 min_rto 1 initial_rto 3
    duration 10 limit 300 seed 1 lean 0
}
array set o $argv
source [file join [file dirname [info script]] run.tcl]

# A packet has room for the headers of every protocol that is not removed.
if {$o(lean)} {
    remove-all-packet-headers
    add-packet-header Flags IP TCP ARP LL Mac AODV
}

Mac/802_11 set dataRate_ 11Mb
# As ns-3: at the highest rate of the data's modulation.
Mac/802_11 set basicRate_ 11Mb
Mac/802_11 set RTSThreshold_ 3000
# What a frame has at 850 m by two-ray ground propagation; the default stands for 550 m.
Phy/WirelessPhy set CSThresh_ [expr {1.559e-11 * pow(550.0 / 850.0, 4)}]

set ns [new Simulator]
# Nodes ask for one, although nothing is traced.
$ns trace-all [open /dev/null w]
ns-random $o(seed)
set topology [new Topography]
$topology load_flatgrid [expr {200 * ($o(hops) + 1)}] 100
create-god [expr {$o(hops) + 1}]
$ns node-config -adhocRouting AODV -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen $o(queue) -antType Antenna/OmniAntenna \
    -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topology \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
for {set station 0} {$station <= $o(hops)} {incr station} {
    set node($station) [$ns node]
    $node($station) random-motion 0
    $node($station) set X_ [expr {200.0 * $station}]
    $node($station) set Y_ 50.0
    $node($station) set Z_ 0.0
}

# 8 bytes more than the segment: LLC and SNAP, which ns-2's MAC does not add.
set tcp [new Agent/TCP/Newreno]
set senders [list $tcp]
$tcp set packetSize_ 1468
$tcp set window_ $o(window)
$tcp set windowInit_ $o(initial_window)
$tcp set tcpTick_ 0.01
$tcp set minrto_ $o(min_rto)
$tcp set rtxcur_init_ $o(initial_rto)
$tcp set maxrto_ 60
set sink [new Agent/TCPSink/DelAck]
$sink set packetSize_ 48
$sink set interval_ 0.2
$ns attach-agent $node(0) $tcp
$ns attach-agent $node($o(hops)) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"

run
