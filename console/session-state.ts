import { computed, signal } from '@preact/signals';
import type { Session } from './contract.ts';

/** The session of the signed-in operator; null until known, undefined if not signed in. */
export const session = signal<Session | undefined | null>(null);

/** Whether the session ended while the console was in use. The page stays unchanged until the next sign-in. */
export const hasSessionEnded = signal(false);

export const canChange = computed(() => session.value?.role === 'admin');

export const viewerNotice = 'Only admins can change this. You are signed in as a viewer.';
