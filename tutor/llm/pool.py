"""Several servers of one model: litellm's Router picks one for each answer, and one that is gone gets no more work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from tutor.llm.complete import load_litellm
from tutor.llm.types import Endpoint

_GROUP: Final = "graders"
_PROBE_S: Final = 3.0


class Pool:
    """Endpoints that may be asked. The Router spreads answers, not calls: the calls about one answer share a prefix
    that only the server which has seen it keeps, so all of them go to one."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = {str(number): endpoint for number, endpoint in enumerate(endpoints)}
        self._router: Any = None
        self.lost: list[Endpoint] = []
        """Those that were found to be gone."""

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Those that may still be asked."""
        return tuple(self._endpoints.values())

    async def choose(self) -> Endpoint | None:
        """An endpoint for the next answer; None when all are gone."""
        if not self._endpoints:
            return None
        if self._router is None:
            self._router = await asyncio.to_thread(self._made)
        picked = await self._router.select(_GROUP, {})
        return self._endpoints.get(picked["model_info"]["id"])

    def _made(self) -> Any:
        litellm = load_litellm()
        deployments = [
            {
                "model_name": _GROUP,
                # The Router only chooses: calls are made by `complete`, with its own deadlines and retries.
                "litellm_params": {"model": f"openai/{each.model}", "api_base": each.base_url, "api_key": "none"},
                "model_info": {"id": number},
            }
            for number, each in self._endpoints.items()
        ]
        return litellm.Router(model_list=deployments, routing_strategy="simple-shuffle", num_retries=0)

    async def check(self, endpoint: Endpoint) -> bool:
        """Whether it still answers; one that does not gets no more work."""
        if await _answers(endpoint):
            return True
        number = next((number for number, each in self._endpoints.items() if each == endpoint), None)
        if number is not None:
            del self._endpoints[number]
            self.lost.append(endpoint)
            if self._router is not None and self._endpoints:
                from litellm.router_api import ChangeSet

                self._router.apply(ChangeSet(delete=[number]))
        return False


async def _answers(endpoint: Endpoint) -> bool:
    import httpx

    from tutor.llm.wire import is_loopback

    key = endpoint.api_key.get_secret_value() if endpoint.api_key else "none"
    try:
        async with httpx.AsyncClient(trust_env=not is_loopback(endpoint.base_url), timeout=_PROBE_S) as client:
            reply = await client.get(
                f"{endpoint.base_url.removesuffix('/')}/models", headers={"Authorization": f"Bearer {key}"}
            )
    except httpx.HTTPError:
        return False
    return reply.status_code < 500
