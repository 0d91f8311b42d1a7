/**
 * Keeps new connections from a listening socket without closing it. Closing one resets the connections the system
 * has made but the runtime has not accepted yet, though their requests may be there. A packet filter that drops SYNs
 * leaves those alone: they are accepted and answered, none is added, and a client that comes later is refused as
 * soon as the socket is closed, before it has sent anything. Linux only; the runtime has no call for it.
 */
import { dlopen, ptr } from 'bun:ffi';
import { readdirSync } from 'node:fs';

// The numbers of Linux (asm-generic/socket.h).
const solSocket = 1;
const soAttachFilter = 26;
const soAcceptConn = 30;

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
  if (process.platform !== 'linux') return false;
  try {
    const { symbols } = dlopen('libc.so.6', {
      getsockname: { args: ['int', 'ptr', 'ptr'], returns: 'int' },
      getsockopt: { args: ['int', 'int', 'int', 'ptr', 'ptr'], returns: 'int' },
      setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
    });
    const listensThere = (socket: number): boolean => {
      const [accepts, address, length] = [
        new Int32Array(1),
        new DataView(new ArrayBuffer(28)),
        new Uint32Array(1),
      ];
      length[0] = accepts.byteLength;
      symbols.getsockopt(socket, solSocket, soAcceptConn, ptr(accepts), ptr(length));
      length[0] = address.byteLength;
      symbols.getsockname(socket, ptr(address), ptr(length));
      // The port stands at the same place in the addresses of IPv4 and IPv6.
      return accepts[0] === 1 && address.getUint16(2) === port;
    };
    const instructions = new DataView(new ArrayBuffer(dropSyn.length * 8));
    for (const [row, [code, whenTrue, whenFalse, constant]] of dropSyn.entries()) {
      instructions.setUint16(row * 8, code, true);
      instructions.setUint8(row * 8 + 2, whenTrue);
      instructions.setUint8(row * 8 + 3, whenFalse);
      instructions.setUint32(row * 8 + 4, constant, true);
    }
    // struct sock_fprog: the number of instructions and, at the next multiple of eight, where they are.
    const program = new BigUint64Array([BigInt(dropSyn.length), BigInt(ptr(instructions))]);
    const filtered = readdirSync('/proc/self/fd')
      .map(Number)
      .filter(listensThere)
      .map((socket) =>
        symbols.setsockopt(socket, solSocket, soAttachFilter, ptr(program), program.byteLength),
      );
    return filtered.includes(0);
  } catch {
    // Another libc, or a system that forbids what bun:ffi needs: the socket is closed without this.
    return false;
  }
}
