"""The calendar's part of the machine: what day a time is."""


from tokenring.engine import kernel
from tokenring.engine.compiled import signed

DAY_NS = 86_400_000_000_000


@kernel
def date_field(field: int, day: int) -> int:
    """Year, month, day, weekday (fields 0 to 2 and 6) of days since 1970, as the Gregorian calendar has them (Howard
    Hinnant, "chrono-compatible low-level date algorithms", civil_from_days).
    """
    if field == 6:
        return (day + 3) % 7
    shifted = day + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * of_year + 2) // 153
    if field == 2:
        return of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    if field == 1:
        return month
    return signed(year_of_era + era * 400 + (1 if month <= 2 else 0))


@kernel
def calendar_field(field: int, instant: int) -> int:
    """Year, month, day, hour, minute, second, weekday (fields 0 to 6) of ns since 1970, in UTC."""
    day = instant // DAY_NS
    rest = instant - day * DAY_NS
    if field >= 3 and field < 6:
        seconds = rest // 1_000_000_000
        return seconds // 3600 if field == 3 else (seconds // 60 % 60 if field == 4 else seconds % 60)
    return date_field(field, day)
