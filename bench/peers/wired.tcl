# Bulk TCP flows, or one transfer, over a row of links in ns-2: ns wired.tcl KEY VALUE ...
#
# The keys are those of scenarios.py. Prints one line of JSON. ns-2's TCP counts packets: a segment
# is packetSize_, 40 bytes of headers and the timestamps, and 2 bytes more make it as long as on
# ns-3's links.

array set o {
    path 10:10:100:0 access none flows 1 pairs 1 transfer 0 stagger 0
    window 20 initial_window 2 sack 1 delayed_ack 1 min_rto 1 initial_rto 3
    timestamps 0 congestion_control newreno
    duration 10 limit 300 seed 1 lean 0
}
array set o $argv
source [file join [file dirname [info script]] run.tcl]

# A packet has room for the headers of every protocol that is not removed.
if {$o(lean)} {
    remove-all-packet-headers
    add-packet-header Flags IP TCP
}

proc connect_nodes {left right link} {
    global ns
    foreach {mbit delay queue loss} [split $link :] break
    $ns duplex-link $left $right ${mbit}Mb ${delay}ms DropTail
    # A queue of n holds n - 1 packets beside the one under way.
    $ns queue-limit $left $right [expr {$queue + 1}]
    $ns queue-limit $right $left [expr {$queue + 1}]
    if {$loss > 0} {
        set errors [new ErrorModel]
        $errors unit pkt
        $errors set rate_ $loss
        $errors ranvar [new RandomVariable/Uniform]
        $errors drop-target [new Agent/Null]
        $ns lossmodel $errors $left $right
    }
}

proc route {from to} { [$from get-module Manual] add-route-to-adj-node $to }
proc route_rest {from to} { [$from get-module Manual] add-route-to-adj-node -default $to }

proc add_flow {from to start} {
    global ns o senders
    # The agent Linux, with the code of Linux's CUBIC, needs a receiver with SACK.
    set linux [expr {$o(congestion_control) eq "cubic"}]
    set kind [expr {$linux ? "Linux" : $o(sack) ? "Sack1" : "Newreno"}]
    set tcp [new Agent/TCP/$kind]
    set selective [expr {$o(sack) ? "/Sack1" : ""}]
    set delayed [expr {$o(delayed_ack) ? "/DelAck" : ""}]
    set sink [new Agent/TCPSink$selective$delayed]
    $tcp set packetSize_ [expr {$o(timestamps) ? 1450 : 1462}]
    $tcp set window_ $o(window)
    $tcp set windowInit_ $o(initial_window)
    $tcp set tcpTick_ 0.01
    $tcp set minrto_ $o(min_rto)
    $tcp set rtxcur_init_ $o(initial_rto)
    $tcp set maxrto_ 60
    $sink set packetSize_ [expr {$o(timestamps) ? 54 : 42}]
    if {$o(timestamps)} {
        $tcp set timestamps_ true
        $tcp set ts_option_size_ 12
        $sink set ts_echo_rfc1323_ true
    }
    if {$linux} {
        $ns at 0.0 "$tcp select_ca cubic"
    }
    if {$o(delayed_ack)} {
        $sink set interval_ 0.2
    }
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    if {$o(transfer) > 0} {
        $ns at $start "$ftp produce $o(transfer)"
    } else {
        $ns at $start "$ftp start"
    }
    lappend senders $tcp
}

set ns [new Simulator]
ns-random $o(seed)
$ns rtproto Manual

set chain [list [$ns node]]
foreach link [split $o(path) ,] {
    lappend chain [$ns node]
    connect_nodes [lindex $chain end-1] [lindex $chain end] $link
}
set first [lindex $chain 0]
set last [lindex $chain end]
route_rest $first [lindex $chain 1]
route_rest $last [lindex $chain end-1]
foreach node [lrange $chain 1 end-1] {
    route $node $first
    route $node $last
}

set senders {}
for {set pair 0} {$pair < $o(pairs)} {incr pair} {
    set from($pair) $first
    set to($pair) $last
    if {$o(access) ne "none"} {
        set from($pair) [$ns node]
        set to($pair) [$ns node]
        connect_nodes $from($pair) $first $o(access)
        connect_nodes $last $to($pair) $o(access)
        route_rest $from($pair) $first
        route_rest $to($pair) $last
        route $first $from($pair)
        route $last $to($pair)
    }
}
for {set flow 0} {$flow < $o(flows)} {incr flow} {
    set pair [expr {$flow % $o(pairs)}]
    add_flow $from($pair) $to($pair) [expr {$o(stagger) * $flow / double($o(flows))}]
}

run
