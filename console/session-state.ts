import { computed, signal } from '@preact/signals';
import type { Session } from './contract.ts';

/** Who is signed in: null until that is known, undefined when nobody is. */
export const session = signal<Session | undefined | null>(null);

/** Whether the session ended while it was in use. What is on the page stays until somebody signs in again. */
export const hasEnded = signal(false);

export const mayChange = computed(() => session.value?.role === 'admin');

export const viewersReason = 'Only admins can change this. You are signed in as a viewer.';
