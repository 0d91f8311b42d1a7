/** Access to this process's TCP sockets on a port, with socket calls that the runtime does not provide. Linux only. */
import { dlopen, type Pointer, ptr } from 'bun:ffi';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { formatPeer } from '../../domain/address.ts';
import { descriptorLimit, isOutOfDescriptors } from './descriptors.ts';

// Constants of Linux (asm-generic/fcntl.h, asm-generic/socket.h, sys/socket.h).
const closeOnExec = 0o2000000;
const solSocket = 1;
const soAcceptConn = 30;
const shutdownBoth = 2;
const standardError = 2;
const inet = 2;
const inet6 = 10;

export interface PortSocket {
  isListening(): boolean;
  /** The address and port of the peer, in the form of `formatPeer`; empty for a listening socket. */
  readonly peer: string;
  /** Sets the number of connections that may wait to be accepted. Returns whether the system accepts it. */
  setMaxQueue(connections: number): boolean;
  /**
   * Makes `accept` fail until the result is disposed, which must be before the runtime closes the socket. Throws if no
   * descriptor is free.
   */
  pauseAccepting(): Disposable;
  /** Sets an option at the SOL_SOCKET level. Returns whether the system accepts the option. */
  setOption(option: number, value: Pointer, length: number): boolean;
  /** Shuts down both directions. The runtime then sees a closed connection. */
  shutDown(): void;
}

function openLibrary() {
  return dlopen('libc.so.6', {
    dup3: { args: ['int', 'int', 'int'], returns: 'int' },
    getpeername: { args: ['int', 'ptr', 'ptr'], returns: 'int' },
    getsockname: { args: ['int', 'ptr', 'ptr'], returns: 'int' },
    getsockopt: { args: ['int', 'int', 'int', 'ptr', 'ptr'], returns: 'int' },
    setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
    listen: { args: ['int', 'int'], returns: 'int' },
    shutdown: { args: ['int', 'int'], returns: 'int' },
  });
}

type Library = ReturnType<typeof openLibrary>;

let library: Library | undefined;

/** The open descriptors. Without a free one they cannot be listed, but then all numbers up to the limit are in use. */
function listDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch (error) {
    if (!isOutOfDescriptors(error)) throw error;
    return Array.from({ length: descriptorLimit() }, (_, descriptor) => descriptor);
  }
}

/** Throws if the C library is not supported, or the system does not allow bun:ffi. */
function listSockets(port: number): PortSocket[] {
  if (process.platform !== 'linux') return [];
  library ??= openLibrary();
  const { symbols } = library;
  const address = new DataView(new ArrayBuffer(28));
  const length = new Uint32Array(1);
  const accepts = new Int32Array(1);
  const [addressAt, lengthAt, acceptsAt] = [ptr(address), ptr(length), ptr(accepts)];
  /**
   * Returns 0 if the socket has no IP address, such as a Unix socket. The port has the same offset in IPv4 and IPv6
   * addresses.
   */
  const portBy = (call: typeof symbols.getsockname, socket: number) => {
    length[0] = address.byteLength;
    if (call(socket, addressAt, lengthAt) !== 0) return 0;
    const family = address.getUint16(0, true);
    return family === inet || family === inet6 ? address.getUint16(2) : 0;
  };
  const isListening = (socket: number) => {
    length[0] = accepts.byteLength;
    symbols.getsockopt(socket, solSocket, soAcceptConn, acceptsAt, lengthAt);
    return accepts[0] === 1;
  };
  const peer = (socket: number) => {
    const peerPort = portBy(symbols.getpeername, socket);
    if (peerPort === 0) return '';
    // An IPv4 address (AF_INET) begins at offset 4, an IPv6 address at offset 8.
    const isIpv4 = address.getUint16(0, true) === inet;
    return formatPeer(new Uint8Array(address.buffer, isIpv4 ? 4 : 8, isIpv4 ? 4 : 16), peerPort);
  };
  return listDescriptors()
    .filter((socket) => portBy(symbols.getsockname, socket) === port)
    .map((socket) => ({
      isListening: () => isListening(socket),
      peer: peer(socket),
      setMaxQueue: (connections) => symbols.listen(socket, connections) === 0,
      pauseAccepting: () => replaceDescriptor(symbols, socket),
      setOption: (option, value, bytes) => symbols.setsockopt(socket, solSocket, option, value, bytes) === 0,
      shutDown: () => void symbols.shutdown(socket, shutdownBoth),
    }));
}

/**
 * Makes a descriptor refer to standard error until the result is disposed. The socket stays open, and registered with
 * epoll, under another number. Throws if no descriptor is free.
 */
function replaceDescriptor({ dup3 }: Library['symbols'], descriptor: number): Disposable {
  const kept = openSync('/dev/null', 'r');
  if (dup3(descriptor, kept, closeOnExec) === -1) {
    closeSync(kept);
    throw new Error('The socket cannot be duplicated.');
  }
  dup3(standardError, descriptor, closeOnExec);
  return {
    [Symbol.dispose]: () => {
      dup3(kept, descriptor, closeOnExec);
      closeSync(kept);
    },
  };
}

/** The established connections to a port; empty if they cannot be listed. */
export function listConnections(port: number): PortSocket[] {
  try {
    return listSockets(port).filter(({ peer }) => peer !== '');
  } catch {
    return [];
  }
}

/** This process's listening socket on a port; undefined if it cannot be found. */
export function findListeningSocket(port: number): PortSocket | undefined {
  try {
    return listSockets(port).find((socket) => socket.isListening());
  } catch {
    return undefined;
  }
}

const soAttachFilter = 26;

/**
 * A classic BPF program that inspects the TCP header. Each row contains opcode, jump if true, jump if false, and
 * constant.
 */
const dropSyn = [
  [0x30, 0, 0, 13], // load the flags byte
  [0x54, 0, 0, 0x12], // keep ACK and SYN
  [0x15, 0, 1, 0x02], // only SYN is set?
  [0x06, 0, 0, 0], // drop the packet
  [0x06, 0, 0, 0xffffffff], // pass any other packet
] as const;

/**
 * Prevents new connections to the port this process listens on, without closing the socket. Returns false if the system
 * does not support this. Closing the socket would reset connections that the system has established but the runtime has
 * not accepted yet, even if clients have already sent requests. A packet filter that drops SYNs prevents new
 * connections without affecting those that are already established. Later clients are refused as soon as the socket is
 * closed, before they have sent anything. Linux only.
 */
export function refuseNewConnections(port: number): boolean {
  try {
    const instructions = new DataView(new ArrayBuffer(dropSyn.length * 8));
    for (const [row, [code, whenTrue, whenFalse, constant]] of dropSyn.entries()) {
      instructions.setUint16(row * 8, code, true);
      instructions.setUint8(row * 8 + 2, whenTrue);
      instructions.setUint8(row * 8 + 3, whenFalse);
      instructions.setUint32(row * 8 + 4, constant, true);
    }
    // struct sock_fprog: the number of instructions and, at offset 8, their address.
    const program = new BigUint64Array([BigInt(dropSyn.length), BigInt(ptr(instructions))]);
    return listSockets(port)
      .filter((socket) => socket.isListening())
      .map(({ setOption }) => setOption(soAttachFilter, ptr(program), program.byteLength))
      .includes(true);
  } catch {
    return false;
  }
}
