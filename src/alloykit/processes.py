"""Several processes for one command, as `torchrun` and `accelerate launch` start them.

All processes train. Process 0 does everything else: it writes files, prints, and tells the others when training begins and when the command ends.
The launcher's environment variables say which process this is. Without them there is one process, and nothing in this file has an effect.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

from alloykit.errors import AlloyError
from alloykit.terminal import echo_error

T = TypeVar("T")
JOINING = timedelta(minutes=10)  # until all processes have started
WAITING = timedelta(minutes=30)  # for each other in training: a slow process may still read and tokenise the texts
FIRST_SPEAKS_S = 3.0  # for process 0 to print its error
ENDED = 143  # the exit code of a program that SIGTERM ended
FAILED = "failed"
STAGES = ("training", "end")  # what process 0 tells the others, in this order

_group: ProcessGroup | None = None
_joined = 0  # groups that this process has joined
_telling = threading.Lock()


class OtherProcessEnded(AlloyError):
    """Another process of the same command has failed or was killed. `reason_printed`: whether it has printed why."""

    reason_printed = False


class ProcessGroup:
    """The processes of this command. `rank`: which one this is, from 0. `count`: how many there are."""

    def __init__(self, rank: int, count: int, store: Any) -> None:
        self.rank, self.count, self.store = rank, count, store

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def tell(self, stage: str, value: str = "") -> None:
        """Process 0: tell the others that a stage begins."""
        self.store.set(stage, value)

    def wait(self, stage: str) -> str:
        """The others: wait without a time limit until process 0 tells that a stage begins. OtherProcessEnded if process 0 fails."""
        from torch.distributed import DistStoreError

        while True:
            try:
                self.store.wait([stage], timedelta(minutes=1))
                break
            except DistStoreError:
                continue
            except RuntimeError as lost:  # the connection ended
                raise _ended(self.count) from lost
        value = self.store.get(stage).decode()
        if value == FAILED:
            error = _ended(self.count)
            error.reason_printed = True
            raise error
        return str(value)


def launched() -> tuple[int, int]:
    """(rank, count) as the launcher gave them; (0, 1) without one."""
    try:
        rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return 0, 1
    return (rank, count) if 0 <= rank < count else (0, 1)


def group() -> ProcessGroup | None:
    """The group that this process has joined; None without a launcher."""
    return _group


def count() -> int:
    """How many processes train together; 1 without a launcher."""
    return 1 if _group is None else _group.count


def is_first() -> bool:
    """Whether this process writes files and prints. True without a launcher."""
    return _group is None or _group.is_first


def speaks() -> bool:
    """Whether this process prints at once: process 0 always, the others once training has begun."""
    return launched()[0] == 0 or _speaking


_speaking = False


def let_first_speak() -> None:
    """For an error that process 0 has, too, or has told of: it prints the message, and the launcher ends the others, of which each waits in turn. If
    process 0 did not have the error, process 1 can print it then."""
    with suppress(KeyboardInterrupt):
        time.sleep(FIRST_SPEAKS_S * launched()[0])


def reports_loss() -> bool:
    """Whether this process reports that another one was lost: process 0 does, or process 1 if process 0 was lost."""
    rank = launched()[0]
    return rank == 0 or (rank == 1 and _first_is_gone())


def _first_is_gone() -> bool:
    host, process = _first
    if host != socket.gethostname() or not process:
        return False
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()[0] in (b"Z", b"X")  # ended, but not yet waited for
    except OSError:
        return not os.path.exists(f"/proc/{process}") and os.path.exists("/proc/self")


_first = ("", 0)  # host and process number of process 0


@contextmanager
def joined(device: str) -> Iterator[ProcessGroup | None]:
    """Join the group of the launched processes while the block runs. Yields None without a launcher. device: the recipe's.

    If process 0 leaves the block with an error, the others get an OtherProcessEnded. If any process is killed, the others end within seconds.
    """
    global _group, _first
    rank, processes = launched()
    if processes == 1 or _group is not None:
        yield _group
        return
    connected = _are_connected()
    _group = mine = _join(rank, processes, device, connected)
    _first = _share_place_of_first(mine)
    finished = False
    try:
        with _ends_at_once():
            yield mine
            finished = True
    finally:
        if mine.is_first and not finished:
            with suppress(RuntimeError):
                for stage in STAGES:
                    mine.tell(stage, FAILED)
        _group = None
        if not connected:
            _leave()


def _are_connected() -> bool:
    """Whether Ray Train has connected the processes."""
    import torch.distributed as dist

    return dist.is_initialized()


def _join(rank: int, processes: int, device: str, connected: bool) -> ProcessGroup:
    """Meet the other processes at the launcher's address, unless they are connected. AlloyError if they do not come."""
    global _joined
    import torch
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    on_gpu = device in ("auto", "cuda") and torch.cuda.is_available()
    if on_gpu:  # "cuda" then means the GPU of this process
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    _joined += 1
    try:
        if connected:
            store = _store_of_connected(rank, processes)
        else:
            store, _, _ = next(iter(rendezvous("env://", timeout=JOINING)))
            store.set_timeout(JOINING)
            dist.init_process_group(
                "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
                store=PrefixStore(f"alloykit-{_joined}", store),
                rank=rank,
                world_size=processes,
                timeout=WAITING,
            )
    except (RuntimeError, ValueError) as error:
        raise AlloyError(
            expected=f"{processes} processes that reach each other",
            got=f"'{str(error).splitlines()[0]}'",
            hint="Start them with `torchrun` or `accelerate launch`, all with the same recipe.",
        ) from error
    return ProcessGroup(rank, processes, PrefixStore(f"alloykit-stages-{_joined}", store))


def _share_place_of_first(mine: ProcessGroup) -> tuple[str, int]:
    """Process 0 tells its host and process number; every process returns them."""
    if mine.is_first:
        mine.tell("process", f"{socket.gethostname()} {os.getpid()}")
    host, process = mine.store.get("process").decode().split(" ")
    return host, int(process)


def _leave() -> None:
    import torch.distributed as dist

    with suppress(RuntimeError):
        dist.destroy_process_group()


def _store_of_connected(rank: int, processes: int) -> Any:
    """A store of the processes that Ray Train has connected. Process 0 serves it at a free port of its machine."""
    import torch
    import torch.distributed as dist

    tcp_store: Any = dist.TCPStore  # type: ignore[attr-defined]
    place: list[Any] = [None]
    if rank == 0:
        store = tcp_store(os.environ["MASTER_ADDR"], 0, processes, True, JOINING, wait_for_workers=False)
        place = [store.port]
    dist.broadcast_object_list(place, src=0, device=torch.device("cpu"))
    if rank:
        store = tcp_store(os.environ["MASTER_ADDR"], place[0], processes, False, JOINING)
    return store


def training_begins() -> None:
    """From here on, this process prints its own messages."""
    global _speaking
    _speaking = True


def barrier() -> None:
    """Wait for all processes. Does nothing without a launcher."""
    from_first(None)


def from_first(value: T) -> T:
    """Process 0's value, in every process. The value itself without a launcher."""
    if _group is None:
        return value
    import torch
    import torch.distributed as dist

    box = [value]
    dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
    return box[0]


def gathered(value: T) -> list[T]:
    """The values of all processes, by rank. [value] without a launcher."""
    if _group is None:
        return [value]
    import torch.distributed as dist

    found: list[Any] = [None] * _group.count
    dist.all_gather_object(found, value)
    return found


@contextmanager
def connection_errors() -> Iterator[None]:
    """Errors of the connection between the processes in this block become OtherProcessEnded."""
    try:
        yield
    except RuntimeError as error:
        if _group is None or not is_lost_connection(error):
            raise
        raise _ended(_group.count) from error


def is_lost_connection(error: BaseException) -> bool:
    """Whether an error says that another process of this command does not answer any more."""
    from torch.distributed import DistError

    if _group is None or not isinstance(error, RuntimeError):
        return False
    words = ("connection closed by peer", "connection reset", "gloo", "nccl", "timed out waiting")
    return isinstance(error, DistError) or any(word in str(error).lower() for word in words)


def _ended(processes: int) -> OtherProcessEnded:
    return OtherProcessEnded(
        expected=f"all {processes} processes of this command to run until its end",
        got="one that ended early",
        hint="If it failed, its message says why. Run the same command again: finished parts are kept.",
    )


@contextmanager
def _ends_at_once() -> Iterator[None]:
    """End this process at once at SIGTERM, which a launcher sends when another process has ended. Process 0 prints a message.

    A library call may wait for the other process, and Python runs signal handlers only after such a call. So a thread waits for the signal. If a
    process leaves the block because another one was lost, it ignores the signal from then on, so that it can print this.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)

    def watch() -> None:
        while number := os.read(read, 1):
            if number[0] == signal.SIGTERM:
                with _telling:
                    if reports_loss():
                        echo_error(f"error: {_ended(launched()[1])}")
                    os._exit(ENDED)

    handler = signal.signal(signal.SIGTERM, lambda *_: None)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    thread = threading.Thread(target=watch, name="alloykit-terminated", daemon=True)
    thread.start()
    lost = False
    try:
        yield
    except Exception as error:
        lost = isinstance(error, OtherProcessEnded) or is_lost_connection(error)
        raise
    finally:
        signal.set_wakeup_fd(before)
        # This process is about to print why it ends, and the launcher must not end it before.
        signal.signal(signal.SIGTERM, signal.SIG_IGN if lost and reports_loss() else handler)
        os.close(write)
        thread.join()
        os.close(read)
