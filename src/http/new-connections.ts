/**
 * Keeps new connections from a listening socket without closing it. Closing one resets the connections the system
 * has made but the runtime has not accepted yet, though their requests may be there. A packet filter that drops SYNs
 * leaves those alone: they are accepted and answered, none is added, and a client that comes later is refused as
 * soon as the socket is closed, before it has sent anything. Linux only; the runtime has no call for it.
 */
import { ptr } from 'bun:ffi';
import { socketsOn } from './sockets.ts';

// The number of Linux (asm-generic/socket.h).
const soAttachFilter = 26;

/** Classic BPF over the TCP header. Each row: code, jump when true, jump when false, constant. */
const dropSyn = [
  [0x30, 0, 0, 13], // load the byte of the flags
  [0x54, 0, 0, 0x12], // keep ACK and SYN
  [0x15, 0, 1, 0x02], // is it SYN alone?
  [0x06, 0, 0, 0], // drop it
  [0x06, 0, 0, 0xffffffff], // pass anything else
] as const;

/** Lets nobody new connect to the port this process listens on. False where the system cannot do that. */
export function refuseNewConnections(port: number): boolean {
  try {
    const instructions = new DataView(new ArrayBuffer(dropSyn.length * 8));
    for (const [row, [code, whenTrue, whenFalse, constant]] of dropSyn.entries()) {
      instructions.setUint16(row * 8, code, true);
      instructions.setUint8(row * 8 + 2, whenTrue);
      instructions.setUint8(row * 8 + 3, whenFalse);
      instructions.setUint32(row * 8 + 4, constant, true);
    }
    // struct sock_fprog: the number of instructions and, at the next multiple of eight, where they are.
    const program = new BigUint64Array([BigInt(dropSyn.length), BigInt(ptr(instructions))]);
    return socketsOn(port)
      .filter(({ isListening }) => isListening)
      .map(({ setOption }) => setOption(soAttachFilter, ptr(program), program.byteLength))
      .includes(true);
  } catch {
    // The system cannot do it: the socket is closed without this.
    return false;
  }
}
