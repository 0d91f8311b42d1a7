/** A program whose clients send each request on a new connection, as soon as the previous one has its response. */
import { connect } from 'node:net';

const [port, request, clients, requests] = process.argv.slice(2);
let left = Number(requests);

function send(): void {
  if (left-- <= 0) return;
  const socket = connect(Number(port), '127.0.0.1', () => void socket.write(String(request)));
  socket.on('error', () => socket.destroy());
  socket.on('close', send);
  socket.resume();
}

for (let client = 0; client < Number(clients); client++) send();
