# What both ns-2 scripts do alike: run until the end or until the CPU time is used up, then print one
# line of JSON. They give `ns`, the list `senders`, and o(duration) and o(limit).

# This process's user CPU time, in steps of 10 ms.
proc cpu_s {} {
    set file [open /proc/self/stat]
    set text [read $file]
    close $file
    # The second field, the name, may hold blanks; it ends with the last bracket.
    set fields [string range $text [expr {[string last ")" $text] + 2}] end]
    return [expr {[lindex $fields 11] / 100.0}]
}

# Stops a run that has had its CPU time. Looks seldom when that is cheap, often when time flies.
proc watch {} {
    global ns o step_s looked_s
    set now_s [cpu_s]
    if {$now_s > $o(limit)} {
        finish
    }
    if {$now_s - $looked_s < $o(limit) / 200.0} {
        set step_s [expr {min(2 * $step_s, $o(duration) / 500.0)}]
    } else {
        set step_s [expr {$step_s / 2}]
    }
    set looked_s $now_s
    $ns at [expr {[$ns now] + $step_s}] watch
}

proc finish {} {
    global ns senders setup_s
    set segments 0
    foreach tcp $senders {
        # The SYN is 0, data begin at 1; before anything is acknowledged it is -1.
        incr segments [expr {max(0, [$tcp set ack_])}]
    }
    puts [format {{"segments": %d, "simulated_s": %.9f, "setup_s": %.2f}} \
        $segments [$ns now] $setup_s]
    exit 0
}

# A transfer is over when its last segment is acknowledged.
Agent/TCP instproc done {} { finish }

proc run {} {
    global ns o step_s looked_s
    set step_s [expr {$o(duration) / 1e6}]
    set looked_s 0.0
    $ns at 0.0 { set setup_s [cpu_s] }
    $ns at 0.0 watch
    $ns at $o(duration) finish
    $ns run
}
