"""The page of two builds side by side; which two stands in the address."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.pages import page, person
from apps.builds.comparisons.comparison import compare_builds
from apps.builds.comparisons.verdict import verdict_of
from apps.builds.selectors import build_list
from apps.rest.errors import NotFound
from apps.rest.numbers import whole_number

_BAD_REQUEST = 400


@page
@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """Show the two builds whose numbers are given as `build`, the earlier one first."""
    wanted_numbers = request.GET.getlist("build")
    numbers = sorted({each for each in map(whole_number, wanted_numbers) if each is not None})
    if len(numbers) != 2 or len(wanted_numbers) != 2:
        return render(request, "builds/compare.html", {"chosen": len(numbers)}, status=_BAD_REQUEST)
    builds = {
        each.number: each
        for each in build_list(team=person(request).team).filter(number__in=numbers)
    }
    missing = [number for number in numbers if number not in builds]
    if missing:
        raise NotFound(f"There is no build {missing[0]}.")
    left, right = (builds[number] for number in numbers)
    parts = compare_builds(left, right)
    context = {
        "left": left,
        "right": right,
        "verdict": verdict_of(left, right, parts),
        "parts": [part for part in parts if part.differing],
        "same": [part.title for part in parts if not part.differing],
    }
    return render(request, "builds/compare.html", context)
