/** The TCP sockets of this process on a port, and what the runtime has no calls for. Linux only. */
import { dlopen, type Pointer, ptr } from 'bun:ffi';
import { readdirSync } from 'node:fs';

// The numbers of Linux (asm-generic/socket.h, sys/socket.h).
const solSocket = 1;
const soAcceptConn = 30;
const shutBoth = 2;

export interface PortSocket {
  readonly isListening: boolean;
  /** Of the connection's other end; 0 while listening. */
  readonly peerPort: number;
  /** Sets an option of the level SOL_SOCKET. Returns whether the system accepts it. */
  setOption(option: number, value: Pointer, length: number): boolean;
  /** Ends both directions, so that the runtime finds the connection closed. */
  shutDown(): void;
}

/** Throws where the C library is another one, or the system forbids what bun:ffi needs. */
export function socketsOn(port: number): PortSocket[] {
  if (process.platform !== 'linux') return [];
  const { symbols } = dlopen('libc.so.6', {
    getpeername: { args: ['int', 'ptr', 'ptr'], returns: 'int' },
    getsockname: { args: ['int', 'ptr', 'ptr'], returns: 'int' },
    getsockopt: { args: ['int', 'int', 'int', 'ptr', 'ptr'], returns: 'int' },
    setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
    shutdown: { args: ['int', 'int'], returns: 'int' },
  });
  const address = new DataView(new ArrayBuffer(28));
  const length = new Uint32Array(1);
  const accepts = new Int32Array(1);
  /** 0 if there is no such address. The port stands at the same place in the addresses of IPv4 and IPv6. */
  const portBy = (call: typeof symbols.getsockname, socket: number) => {
    length[0] = address.byteLength;
    return call(socket, ptr(address), ptr(length)) === 0 ? address.getUint16(2) : 0;
  };
  const isListening = (socket: number) => {
    length[0] = accepts.byteLength;
    symbols.getsockopt(socket, solSocket, soAcceptConn, ptr(accepts), ptr(length));
    return accepts[0] === 1;
  };
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((socket) => portBy(symbols.getsockname, socket) === port)
    .map((socket) => ({
      isListening: isListening(socket),
      peerPort: portBy(symbols.getpeername, socket),
      setOption: (option, value, bytes) => symbols.setsockopt(socket, solSocket, option, value, bytes) === 0,
      shutDown: () => void symbols.shutdown(socket, shutBoth),
    }));
}
