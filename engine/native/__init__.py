"""The running graph as data, and the loop that runs it: compiled operators, their messages, their tokens."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.native.arrivals import BURSTS, SIGNALS
    from tokenring.engine.native.crossing import hashed_columns, link_routing_key, routing_words, shifted_texts
    from tokenring.engine.native.due import make_due
    from tokenring.engine.native.edges import send_at, send_with
    from tokenring.engine.native.hand_over import (
        HEADER_WORDS,
        array_at,
        batch_at,
        bring_texts,
        hand_over,
        next_for_python,
        postponed_at,
        waiting_at,
        was_handed_on,
    )
    from tokenring.engine.native.layout import (
        AGAIN,
        ARRIVALS,
        BORDER,
        BROADCAST,
        CHECKED,
        DONE,
        EXCHANGE,
        FAILED,
        HANDED_OVER,
        HAS_RUN,
        IN_EXCHANGE,
        IN_LOOP,
        IN_WAIT,
        LOCAL,
        NEEDS_ROOM,
        NOBODY,
        NOTED,
        NUMBER_BITS,
        OPERATOR_STOPPED,
        OUTSIDE,
        OWN_TIMES,
        PEERS_SLEEP,
        PYTHON_IS_DUE,
        QUIET,
        SIGNALLED,
        STAGE,
        TIME_IS_UP,
        TO_EXCHANGE,
        TO_GIVE_BACK,
        TROUBLED,
        WAS_ACTIVE,
        WOKEN,
        HashedColumn,
        Message,
        RoutingKey,
        RunningGraph,
        StageBeginning,
        addresses_of,
        world_at,
    )
    from tokenring.engine.native.logic import (
        answer,
        discard,
        elements_at,
        first_aside,
        frontier_at,
        frontier_of,
        is_backed_up,
        is_congested,
        is_ending,
        keep_back,
        latest_of,
        leave_waiting,
        let_go_aside,
        messages_under_way,
        messages_waiting,
        new_message,
        next_aside,
        postpone,
        print_of,
        round_of,
        send,
        send_by,
        send_each,
        set_aside,
        slot_aside,
        state_as,
        state_of,
        sum_of_tokens,
        take_apart,
        wait_for_message,
        wake_at,
    )
    from tokenring.engine.native.loop import turn
    from tokenring.engine.native.memory import lease
    from tokenring.engine.native.messages import (
        alias_of,
        bare_message,
        chosen_rows,
        column_of,
        end_of_message,
        gathered,
        give_keys,
        inner_of,
        keys_of,
        part_of,
        peek,
        point_to,
        rows_of,
        shorten,
        take,
        time_of,
    )
    from tokenring.engine.native.rights import (
        NO_TOKEN,
        clone,
        downgrade,
        downgrade_to,
        drop,
        inner_of_token,
        retain,
        time_of_token,
    )
    from tokenring.engine.native.runs import run_once
    from tokenring.engine.native.signals import least_word, send_word
    from tokenring.engine.native.world import World, attach_world, words_of_time
    from tokenring.engine.native.wrongs import BEYOND_LOOP, STAGE_FAILED, fail, what_is_wrong
