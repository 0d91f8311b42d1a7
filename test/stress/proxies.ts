/**
 * nginx and haproxy in front of the service, with as few connections to the service as possible. This is the worst case
 * for mixed-up responses.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, type OwnServer, type ServerKind } from '../support/server-process.ts';
import { proxyServer } from './rolling-proxy.ts';

/** Starts a proxy in front of the service. Prints a notice and returns undefined if the program is not installed. */
export async function proxyBefore(
  name: 'nginx' | 'haproxy',
  service: string,
): Promise<OwnServer | undefined> {
  const program = findProgram(name);
  if (program === undefined) {
    process.stderr.write(`\n!!! NOT TESTED: ${name} is not installed on this machine.\n\n`);
    return undefined;
  }
  const { host } = new URL(service);
  return proxyServer(name === 'nginx' ? nginx(program, host) : haproxy(program, host));
}

function nginx(program: string, service: string): ServerKind['command'] {
  return (folder, port) => {
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path "${folder}";`,
    );
    const text = `daemon off; master_process off; worker_processes 1; pid "${folder}/pid"; error_log stderr crit;
        events {}
        http {
          access_log off; ${paths.join(' ')} underscores_in_headers on; ignore_invalid_headers off;
          upstream service { server ${service}; keepalive 1; }
          server {
            listen 127.0.0.1:${port};
            location / {
              proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection "";
              keepalive_requests 1000000; proxy_request_buffering off; proxy_buffering off; proxy_next_upstream off;
            }
          }
        }`;
    return [program, '-e', 'stderr', '-c', written(folder, text)];
  };
}

function haproxy(program: string, service: string): ServerKind['command'] {
  return (folder, port) => {
    const text = `global
  nbthread 1
defaults
  mode http
  timeout connect 2s
  timeout client 20s
  timeout server 20s
  http-reuse always
  retries 0
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server service ${service} maxconn 4
`;
    return [program, '-db', '-f', written(folder, text)];
  };
}

function written(folder: string, text: string): string {
  const path = join(folder, 'proxy.conf');
  writeFileSync(path, text);
  return path;
}
